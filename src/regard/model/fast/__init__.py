"""THE SAME NUMBERS, SOONER: what is there only for speed; model/ is readable without it."""
