# shellcheck shell=bash disable=SC2154 # of the scripts that source this
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What other processes do to the memory of the guest $pid, which has 256 MiB in one block. Needs guests.sh.

# outsider ACT FROM MIB: to that part of the guest's RAM: cold, pageout, collapse, readv, or mem for /proc/PID/mem.
outsider() {
	python3 - "$pid" "$@" <<-'EOP'
		import ctypes, os, sys
		pid, act, begin, size = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]) << 20, int(sys.argv[4]) << 20
		libc = ctypes.CDLL(None, use_errno=True)
		class Iovec(ctypes.Structure): _fields_ = [("base", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]
		def ranges():
		    for line in open(f"/proc/{pid}/maps"):
		        a, b = (int(x, 16) for x in line.split()[0].split("-"))
		        if "rw" in line.split()[1] and b - a == 256 << 20: yield a
		start = next(ranges()) + begin
		advice = {"cold": 20, "pageout": 21, "collapse": 25}
		if act in advice:
		    there = Iovec(start, size)
		    sys.exit(libc.syscall(440, os.pidfd_open(pid), ctypes.byref(there), 1, advice[act], 0) != size)
		if act == "mem":
		    mem = open(f"/proc/{pid}/mem", "rb", 0)
		    for at in range(start, start + size, 1 << 20):
		        mem.seek(at)
		        mem.read(1 << 20)
		if act == "readv":
		    page = ctypes.create_string_buffer(1 << 20)
		    here = Iovec(ctypes.addressof(page), 1 << 20)
		    for at in range(start, start + size, 1 << 20):
		        there = Iovec(at, 1 << 20)
		        libc.process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
	EOP
}

# map_ram FROM MIB: another process maps that part of the guest's file, which has 256 MiB, and reads it as a backup would, until
# unmap_ram. The kernel leaves no trace in the pages when a mapping that is read in sequence ends.
map_ram() {
	mkfifo "$guests_dir/mapped" "$guests_dir/unmap"
	python3 - "$pid" "$@" "$guests_dir" <<-'EOP' &
		import mmap, os, sys
		pid, begin, size, directory = int(sys.argv[1]), int(sys.argv[2]) << 20, int(sys.argv[3]) << 20, sys.argv[4]
		files = (f"/proc/{pid}/fd/{fd}" for fd in os.listdir(f"/proc/{pid}/fd"))
		file = next(file for file in files if os.path.exists(file) and os.stat(file).st_size == 256 << 20)
		with open(file, "rb") as ram:
		    memory = mmap.mmap(ram.fileno(), size, mmap.MAP_SHARED, mmap.PROT_READ, offset=begin)
		memory.madvise(mmap.MADV_SEQUENTIAL)
		for at in range(0, size, 4096):
		    memory[at]
		open(f"{directory}/mapped", "w").close()
		open(f"{directory}/unmap").close()
	EOP
	mapper=$!
	timeout 60 cat "$guests_dir/mapped"
}
unmap_ram() {
	: >"$guests_dir/unmap"
	wait "$mapper"
	rm -f -- "$guests_dir/mapped" "$guests_dir/unmap"
}
clear_refs() { echo 1 >"/proc/$pid/clear_refs"; }

# monitor: QEMU itself reads 32 MiB; the guest was started with -qmp unix:$guests_dir/qmp,server=on,wait=off.
monitor() {
	python3 - "$guests_dir/qmp" <<-'EOP'
		import json, socket, sys
		qmp = socket.socket(socket.AF_UNIX)
		qmp.connect(sys.argv[1])
		replies = qmp.makefile()
		replies.readline()
		save = {"execute": "pmemsave", "arguments": {"val": 100 << 20, "size": 32 << 20, "filename": "/dev/null"}}
		for command in {"execute": "qmp_capabilities"}, save:
		    qmp.sendall(json.dumps(command).encode())
		    while not {"return", "error"} & json.loads(replies.readline()).keys():
		        pass
	EOP
}

# holds_truth WHAT TRUTH: in every window; of a panel at twice the interval's width, for one of twenty misses.
holds_truth() {
	check "$1: [$(jq -c '[.windows[] | .wss_low_bytes, .wss_high_bytes]' <<<"$record")] hold $2" \
		record_has "(.windows | length > 0) and (if .mode == \"panel\" then 1 else 0 end) as \$more | all(.windows[];
			.wss_low_bytes - \$more * (.wss_bytes - .wss_low_bytes) <= $2 * 1.01 and
			.wss_high_bytes + \$more * (.wss_high_bytes - .wss_bytes) >= $2 * 0.99)"
}
