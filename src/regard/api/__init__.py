"""IN PEOPLE'S HANDS: one Model for every folder, and how it is loaded."""
