"""Programs and packages of others that this machine has: found when they are needed."""
