package cmd

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/imoocpod/kubectl-imoocpod/pkg/change/replicas"
)

// Numbers have the syntax of pflag, as in kubectl.
func TestCount(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int32{"0": 0, "3": 3, "007": 7, "010": 8, "0x10": 16, "1_000": 1000, "2147483647": 2147483647} {
		var got int32
		if err := numberFlag(&got, 0).Set(text); err != nil || got != want {
			t.Errorf("Set(%q): got %d, error %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-1", "x", "3.5", "1e3", " 1", "2147483648", "99999999999999999999"} {
		got := int32(42)
		if err := numberFlag(&got, 0).Set(text); err == nil || got != 42 {
			t.Errorf("Set(%q) must fail and keep 42: got %d, error %v", text, got, err)
		}
	}
	var got int32
	if err := numberFlag(&got, replicas.AnyCount).Set("-1"); err != nil || got != -1 {
		t.Errorf("Set(-1) of a flag that allows -1: got %d, error %v", got, err)
	}
	if err := numberFlag(&got, replicas.AnyCount).Set("-2"); err == nil {
		t.Error("Set(-2) of a flag that allows -1: got no error")
	}
}

func TestReasonFlag(t *testing.T) {
	t.Parallel()
	cmd, f := &cobra.Command{}, changeFlags{}
	f.addReasonFlag(cmd)
	for length, valid := range map[int]bool{maxReason: true, maxReason + 1: false} {
		if err := cmd.Flags().Set("reason", strings.Repeat("x", length)); (err == nil) != valid {
			t.Errorf("reason of %d bytes: error %v, want valid %t", length, err, valid)
		}
	}
}
