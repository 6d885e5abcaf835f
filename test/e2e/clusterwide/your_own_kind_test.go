package clusterwide

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// The commands in docs/your-own-kind.md work in the order in which they are listed.
func TestYourOwnKind(t *testing.T) {
	session := newSession(t)
	if err := os.CopyFS(session.dir+"/config/crd/bases", os.DirFS("../testdata/kubebuilder")); err != nil {
		t.Fatal(err)
	}
	defer cluster.Kubectl(t, "", "delete", "crd", "workers.example.com", "guestbooks.webapp.example.com")
	page := harness.ReadFile(t, "../../../docs/your-own-kind.md")
	for _, block := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(page, -1) {
		for line := range strings.Lines(strings.ReplaceAll(block[1], "\\\n", " ")) {
			if session.types(line); session.code != 0 {
				t.Fatalf("%s: exit code %d, want 0", line, session.code)
			}
		}
	}
	if session.commands < 15 || session.controller == nil {
		t.Errorf("docs/your-own-kind.md has %d commands, want at least 15, and run-controller", session.commands)
	}
}
