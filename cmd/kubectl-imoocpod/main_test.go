package main

import (
	"flag"
	"strings"
	"testing"

	"k8s.io/klog/v2"
)

func TestVerbose(t *testing.T) {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	t.Cleanup(func() { _ = flags.Set("v", "0") })
	for v, want := range map[string]string{"0": "", "1": "lost"} {
		if err := flags.Set("v", v); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if n, err := (verbose{&out}).Write([]byte("lost")); n != 4 || err != nil || out.String() != want {
			t.Errorf("at -v=%s: output %q (n = %d, error %v), want %q", v, out.String(), n, err, want)
		}
	}
}
