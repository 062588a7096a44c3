"""Programs started by name, beside the import stack: jobs, the sealed process, the nano suite."""
