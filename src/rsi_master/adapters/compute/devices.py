"""Devices and who leases them: CPU slots by count, GPUs by UUID. A device has one job at a time.

A job of class `code` computes on a CPU alone: where the devices are GPUs it has slots beside them,
as many as there are devices.
"""

import re
import shutil
import subprocess

from rsi_master.core.errors import Broken
from rsi_master.core.job import JobClass

_GPU = re.compile(r"\(UUID: (GPU-[0-9a-f-]+)\)")
_SECONDS = 20.0


def cpu_slots(count: int) -> tuple[str, ...]:
    """Names of so many CPU slots; each runs one job with one thread."""
    return tuple(f"cpu:{index}" for index in range(count))


def gpus() -> tuple[str, ...]:
    """UUIDs of the GPUs that `nvidia-smi -L` lists; empty without that tool."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return ()
    try:
        done = subprocess.run(
            [tool, "-L"], capture_output=True, text=True, timeout=_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise Broken("GPU_LIST", f"{tool} -L failed: {error}; name CPU slots instead") from error
    return tuple(_GPU.findall(done.stdout))


def is_gpu(device: str) -> bool:
    """Whether the name is that of a GPU."""
    return device.startswith("GPU-")


# No job can have such a name.
OUTSIDE = "lease:"


class Leases:
    """Which job, or other work under an `OUTSIDE` name, holds which devices. Not thread-safe."""

    def __init__(self, devices: tuple[str, ...]) -> None:
        slots = cpu_slots(len(devices)) if any(map(is_gpu, devices)) else devices
        self._pools: dict[JobClass, tuple[str, ...]] = {"recipe": devices, "code": slots}
        self._known = tuple(dict.fromkeys((*devices, *slots)))
        self._holders: dict[str, str] = {}

    def free(self, job_class: JobClass = "recipe") -> tuple[str, ...]:
        """What nobody holds of the devices that a job of the class may have."""
        return tuple(one for one in self._pools[job_class] if one not in self._holders)

    def take(self, name: str, count: int, job_class: JobClass = "recipe") -> tuple[str, ...]:
        """Lease `count` devices to a name; Broken when fewer are free."""
        free = self.free(job_class)
        if count > len(free):
            text = f"{name} needs {count} devices, {len(free)} are free; wait for one"
            raise Broken("NO_DEVICE", text)
        self._holders.update(dict.fromkeys(free[:count], name))
        return free[:count]

    def give_back(self, name: str) -> None:
        """End all leases of a name."""
        self._holders = {device: who for device, who in self._holders.items() if who != name}

    def position(self, device: str) -> int:
        """A small number that no other device has."""
        return self._known.index(device)
