"""Programs started by name, beside the import stack: jobs, the sealed process and the nano suite."""
