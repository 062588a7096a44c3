"""A seccomp filter that takes away system calls which no training program needs.

Not covered: attacks on the kernel through the calls that stay. Foreign architectures kill the
process; `clone3` answers ENOSYS so that the C library falls back to `clone`, whose namespace flags
the filter can read.
"""

import ctypes
import errno
import socket
import struct

from rsi_master.programs.confinement import kernel
from rsi_master.programs.confinement.plan import ConfinementError

# name: number on x86_64, on aarch64
_DENIED: dict[str, tuple[int, int | None]] = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "modify_ldt": (154, None),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_madvise": (440, 440),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "uselib": (134, None),
    "userfaultfd": (323, 282),
}
# Without a pid namespace a process could leave its group and outlive the job.
_LEAVE_GROUP: dict[str, tuple[int, int | None]] = {"setpgid": (109, 154), "setsid": (112, 157)}
# What code that nobody vouches for has no use for: another process or thread, a signal, a socket or
# a descriptor sent over one, memory that no ceiling counts, modes and owners of the user's files.
_NOT_ALONE: dict[str, tuple[int, int | None]] = {
    "bind": (49, 200),
    "chmod": (90, None),
    "chown": (92, None),
    "clone": (56, 220),
    "connect": (42, 203),
    "execve": (59, 221),
    "execveat": (322, 281),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "fchown": (93, 55),
    "fchownat": (260, 54),
    "fork": (57, None),
    "fremovexattr": (199, 16),
    "fsetxattr": (190, 7),
    "futimesat": (261, None),
    "ioprio_set": (251, 30),
    "kill": (62, 129),
    "lchown": (94, None),
    "lremovexattr": (198, 15),
    "lsetxattr": (189, 6),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    "mq_open": (240, 180),
    "msgget": (68, 186),
    "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424),
    "recvmmsg": (299, 243),
    "recvmsg": (47, 212),
    "removexattr": (197, 14),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "semget": (64, 190),
    "sendmmsg": (307, 269),
    "sendmsg": (46, 211),
    "sendto": (44, 206),
    "setpriority": (141, 140),
    "setxattr": (188, 5),
    "shmat": (30, 196),
    "shmget": (29, 194),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "tgkill": (234, 131),
    "tkill": (200, 130),
    "utime": (132, None),
    "utimensat": (280, 88),
    "utimes": (235, None),
    "vfork": (58, None),
}
# Ways to have the kernel signal, lease or limit another process of the user: who gets the signals
# of a descriptor, and limits by process id.
_OWNERSHIP: dict[str, tuple[tuple[int, int | None], tuple[int, ...]]] = {
    "fcntl": ((72, 25), (8, 10, 15, 1024, 1026)),  # SETOWN, SETSIG, SETOWN_EX, SETLEASE, NOTIFY
    "ioctl": ((16, 29), (0x8901, 0x8902)),  # FIOSETOWN, SIOCSPGRP
}
_PRLIMIT = (302, 261)
_CLONE, _CLONE3, _SOCKET = (56, 220), (435, 435), (41, 198)

_NAMESPACE_FLAGS = (
    kernel.NEWNS
    | kernel.NEWUTS
    | kernel.NEWIPC
    | kernel.NEWUSER
    | kernel.NEWPID
    | kernel.NEWNET
    | kernel.NEWCGROUP
)
_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_BIT = 0x40000000

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_OFFSET_NUMBER, _OFFSET_ARCH, _OFFSET_FIRST_ARGUMENT, _OFFSET_SECOND_ARGUMENT = 0, 4, 16, 24
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_MODE_FILTER = 2

_Instruction = tuple[int, int, int, int]


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def restrict(*, in_pid_namespace: bool, alone: bool = False) -> None:
    """Install the filter on the calling thread and its future children; needs no_new_privs.

    In a pid namespace AF_UNIX sockets stay (the mount and net namespaces hold them); without one
    no socket can be made but a socketpair. A process that is `alone` stays the only one.
    """
    code = _instructions(in_pid_namespace, alone)
    program = b"".join(struct.pack("HBBI", *one) for one in code)
    holder = _Program(len(program) // 8, program)
    kernel.prctl("no new privileges", kernel.PR_SET_NO_NEW_PRIVS, 1)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(kernel.PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(holder), 0, 0) != 0:
        raise ConfinementError("seccomp filter", "prctl(PR_SET_SECCOMP)", ctypes.get_errno())


def _instructions(in_pid_namespace: bool, alone: bool = False) -> list[_Instruction]:
    architecture = _ARCHITECTURE.get(kernel.MACHINE)
    if architecture is None:
        raise ConfinementError("seccomp filter", f"architecture {kernel.MACHINE}", 0)
    code: list[_Instruction] = [
        (_LOAD, 0, 0, _OFFSET_ARCH),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _OFFSET_NUMBER),
        (_AT_LEAST, 0, 1, _X32_BIT),
        _refuse(errno.ENOSYS),
    ]
    denied = _DENIED if in_pid_namespace else {**_DENIED, **_LEAVE_GROUP}
    for pair in (*denied.values(), *(_NOT_ALONE.values() if alone else ())):
        code += _rule(pair, [_refuse(errno.EPERM)])
    if alone:
        for pair, commands in _OWNERSHIP.values():
            code += _rule(pair, _but(commands))
        code += _rule(_PRLIMIT, _unless((_EQUAL, 1, 0, 0)))
    code += _rule(_CLONE3, [_refuse(errno.ENOSYS)])
    code += _rule(_CLONE, _unless((_ANY_BIT, 0, 1, _NAMESPACE_FLAGS)))
    if in_pid_namespace:
        code += _rule(_SOCKET, _unless((_EQUAL, 1, 0, int(socket.AF_UNIX))))
    else:
        code += _rule(_SOCKET, [_refuse(errno.EACCES)])
    code.append((_RETURN, 0, 0, _ALLOW))
    return code


def _refuse(number: int) -> _Instruction:
    return (_RETURN, 0, 0, _ERRNO | number)


def _unless(test: _Instruction) -> list[_Instruction]:
    """Look at the first argument: fall to EACCES or jump over it as `test` says, then allow."""
    return [
        (_LOAD, 0, 0, _OFFSET_FIRST_ARGUMENT),
        test,
        _refuse(errno.EACCES),
        (_RETURN, 0, 0, _ALLOW),
    ]


def _but(commands: tuple[int, ...]) -> list[_Instruction]:
    """Refuse these values of the second argument, allow all others."""
    tests = [(one, _refuse(errno.EPERM)) for one in commands]
    steps = [step for one, refuse in tests for step in ((_EQUAL, 0, 1, one), refuse)]
    return [(_LOAD, 0, 0, _OFFSET_SECOND_ARGUMENT), *steps, (_RETURN, 0, 0, _ALLOW)]


def _rule(pair: tuple[int, int | None], body: list[_Instruction]) -> list[_Instruction]:
    number = kernel.number(pair)
    return [] if number is None else [(_EQUAL, 0, len(body), number), *body]
