"""Records in, pictures and pages out."""
