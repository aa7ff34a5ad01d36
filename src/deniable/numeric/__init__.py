"""Mathematics that knows nothing of surveys: axes, contrasts, shares, roots, levels."""
