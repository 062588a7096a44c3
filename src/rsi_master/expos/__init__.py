"""The Experiment OS: gateway, policy, ledger and its verification. Knows no domain."""
