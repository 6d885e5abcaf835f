//go:build race

package main

// maxMemory is how many KiB the program may take while a response has no end. The race
// detector keeps several bytes for each.
const maxMemory = 4 << 20
