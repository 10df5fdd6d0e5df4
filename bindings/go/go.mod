module syscript

go 1.21
