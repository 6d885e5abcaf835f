package main

import "syscall"

// endWithParent makes the kernel send a signal to a process when the thread that started it exits.
func endWithParent(attr *syscall.SysProcAttr, signal syscall.Signal) {
	attr.Pdeathsig = signal
}

// endComponents does nothing, because the kernel ends components with their launcher.
func endComponents(string) error { return nil }
