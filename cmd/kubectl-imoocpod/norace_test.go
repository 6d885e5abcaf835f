//go:build !race

package main

// maxMemory is how many KiB the program may take while a response has no end.
const maxMemory = 1 << 20
