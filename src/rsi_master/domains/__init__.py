"""What a run can do, by domain: actions, their logic and their views. No domain imports another."""
