"""Parts of check_serve.py."""
