"""What distances inside each cloud say: embeddings, couplings by structure, maps, evidence of isometry."""
