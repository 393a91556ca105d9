"""What is wrong with a tokenizer, and which one suits."""
