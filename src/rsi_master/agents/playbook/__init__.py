"""The offline playbook: the roles without an LLM, in rules that know the field and no suite.

Nothing in it was set by looking at results of the embedded benchmark. Every constant is a customary
value and says where it is customary, or says why it is what it is.
"""
