"""Devices and who leases them: CPU slots by count, GPUs by UUID. A device has one job at a time."""

import re
import shutil
import subprocess

from rsi_master.core.errors import Broken

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


# No job can have such a name.
OUTSIDE = "lease:"


class Leases:
    """Which job, or other work under an `OUTSIDE` name, holds which devices. Not thread-safe."""

    def __init__(self, devices: tuple[str, ...]) -> None:
        self._devices = devices
        self._holders: dict[str, str] = {}

    def free(self) -> int:
        """How many devices nobody holds."""
        return len(self._devices) - len(self._holders)

    def take(self, name: str, count: int) -> tuple[str, ...]:
        """Lease `count` devices to a name; Broken when fewer are free."""
        if count > self.free():
            text = f"{name} needs {count} devices, {self.free()} are free; wait for one"
            raise Broken("NO_DEVICE", text)
        chosen = [device for device in self._devices if device not in self._holders][:count]
        self._holders.update(dict.fromkeys(chosen, name))
        return tuple(chosen)

    def give_back(self, name: str) -> None:
        """End all leases of a name."""
        self._holders = {device: who for device, who in self._holders.items() if who != name}

    def position(self, device: str) -> int:
        """A small number that no other device has."""
        return self._devices.index(device)
