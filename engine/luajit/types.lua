-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- util.types: structures of the system calls, declared by util.struct when a script
-- first uses them; and conversions of the byte order of addresses.
--
-- Members have the names that the manual pages give them.  Loaded when a script
-- first asks for one of them; called with util.

local util = ...
local bswap, rshift = bit.bswap, bit.rshift

-- As the kernel has them. Lines that end in the name of an architecture are for it alone: the
-- build leaves out others. struct epoll_event is packed on x86-64.
local declarations = {
  epoll_event = "uint32_t events; union { int fd; uint32_t u32, u64[2]; } data;", -- x86-64
  epoll_event = "uint32_t events, reserved; union { int fd; uint32_t u32, u64[2]; } data;", -- arm64
  iovec = "void *iov_base; size_t iov_len;",
  itimerspec = "timespec it_interval, it_value;",
  linger = "int l_onoff, l_linger;",
  mmsghdr = "msghdr msg_hdr; unsigned int msg_len;",
  msghdr = [[
    void *msg_name; socklen_t msg_namelen; void *msg_iov; size_t msg_iovlen;
    void *msg_control; size_t msg_controllen; int msg_flags;]],
  open_how = "uint64_t flags, mode, resolve;",
  pollfd = "int fd; short events, revents;",
  rlimit = "unsigned long rlim_cur, rlim_max;",
  sockaddr_in = [[
    sa_family_t sin_family; uint16_t sin_port; uint32_t sin_addr; uint8_t sin_zero[8];]],
  sockaddr_in6 = [[
    sa_family_t sin6_family; uint16_t sin6_port; uint32_t sin6_flowinfo;
    uint8_t sin6_addr[16]; uint32_t sin6_scope_id;]],
  sockaddr_un = "sa_family_t sun_family; char sun_path[108];",
  stat = "unsigned long st_dev, st_ino, st_nlink; mode_t st_mode; uid_t st_uid; gid_t st_gid;" .. -- x86-64
    "unsigned long st_rdev; long st_size, st_blksize, st_blocks;" .. -- x86-64
    "timespec st_atim, st_mtim, st_ctim; long reserved[3];", -- x86-64
  stat = "unsigned long st_dev, st_ino; mode_t st_mode; unsigned int st_nlink; uid_t st_uid;" .. -- arm64
    "gid_t st_gid; unsigned long st_rdev, __pad1; long st_size; int st_blksize;" .. -- arm64
    "long st_blocks; timespec st_atim, st_mtim, st_ctim; unsigned int reserved[2];", -- arm64
  statx = [[
    uint32_t stx_mask, stx_blksize; uint64_t stx_attributes; uint32_t stx_nlink;
    uint32_t stx_uid, stx_gid; uint16_t stx_mode; uint64_t stx_ino, stx_size, stx_blocks;
    uint64_t stx_attributes_mask;
    statx_timestamp stx_atime, stx_btime, stx_ctime, stx_mtime;
    uint32_t stx_rdev_major, stx_rdev_minor, stx_dev_major, stx_dev_minor;
    uint64_t stx_mnt_id; uint32_t stx_dio_mem_align, stx_dio_offset_align;
    uint64_t reserved[12];]],
  statx_timestamp = "int64_t tv_sec; uint32_t tv_nsec; int32_t reserved;",
  timespec = "time_t tv_sec; long tv_nsec;",
  timeval = "time_t tv_sec; long tv_usec;",
}

local types = {}

local function declare(name)
  local t = declarations[name]
  if t then
    t = util.struct(t, setmetatable({}, { __index = function(_, other) return rawget(types, other) or declare(other) end }))
    types[name] = t
  end
  return t
end

setmetatable(types, {
  __index = function(_, name)
    return declare(name) or error("no type '" .. tostring(name) .. "': declare it with util.struct", 2)
  end,
})

local function htons(n) return rshift(bswap(n), 16) end
local function htonl(n) return bswap(n) % 2 ^ 32 end

return { types = types, htons = htons, ntohs = htons, htonl = htonl, ntohl = htonl }
