// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
//! Finds libsyscript: in SYSCRIPT_LIB_DIR, else by pkg-config, else where the linker looks.

use std::env;
use std::process::Command;

fn pkg_config() -> Option<Vec<String>> {
    let done = Command::new("pkg-config").args(["--libs-only-L", "libsyscript"]).output().ok()?;
    let text = String::from_utf8(done.stdout).ok()?;
    done.status.success().then(|| {
        text.split_whitespace()
            .filter_map(|flag| flag.strip_prefix("-L"))
            .map(String::from)
            .collect()
    })
}

fn main() {
    println!("cargo:rerun-if-env-changed=SYSCRIPT_LIB_DIR");
    let dirs = match env::var("SYSCRIPT_LIB_DIR") {
        Ok(dir) => vec![dir],
        Err(_) => pkg_config().unwrap_or_default(),
    };
    for dir in dirs {
        println!("cargo:rustc-link-search=native={dir}");
    }
    println!("cargo:rustc-link-lib=syscript");
}
