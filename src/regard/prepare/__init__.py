"""TEXT → STORES: pairs, texts and scored pairs become ids on disk, epoch by epoch."""
