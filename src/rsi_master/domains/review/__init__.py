"""Review: requests, the evidence in scope, reports."""
