"""What is loaded into a Python program that runs behind the endpoint; this folder is put on its path."""
