"""The method: arrays in, arrays out; no files, no printing, no ground truth."""
