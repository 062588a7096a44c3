"""Print the tiers that hold on this machine."""

from rsi_master.programs.confinement.probe import main

main()
