package krew

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// user is a user who initially has only kubectl and krew.
type user struct {
	t    *testing.T
	root string
	env  []string
}

func newUser(t *testing.T) *user {
	t.Helper()
	root := t.TempDir()
	return &user{t: t, root: root, env: []string{
		"HOME=" + t.TempDir(),
		"KUBECONFIG=" + os.Getenv("KUBECONFIG"),
		"KREW_ROOT=" + root,
		"KREW_NO_UPGRADE_CHECK=1",
		"PATH=" + strings.Join([]string{filepath.Join(root, "bin"), tools, os.Getenv("PATH")}, string(os.PathListSeparator)),
		"GIT_AUTHOR_NAME=krew", "GIT_AUTHOR_EMAIL=krew@example.com",
		"GIT_COMMITTER_NAME=krew", "GIT_COMMITTER_EMAIL=krew@example.com",
	}}
}

func (u *user) try(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Env = u.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (u *user) run(name string, args ...string) string {
	u.t.Helper()
	out, err := u.try(name, args...)
	if err != nil {
		u.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return out
}

func (u *user) prints(words string, args ...string) {
	u.t.Helper()
	if out := u.run("kubectl", args...); !strings.Contains(out, words) {
		u.t.Errorf("kubectl %s does not print %q:\n%s", strings.Join(args, " "), words, out)
	}
}

// installed returns the target of the link that krew created, relative to krew's store.
func (u *user) installed() string {
	u.t.Helper()
	to, err := os.Readlink(filepath.Join(u.root, "bin", "kubectl-imoocpod"))
	if err != nil {
		u.t.Fatal(err)
	}
	return strings.TrimPrefix(filepath.ToSlash(to), filepath.ToSlash(filepath.Join(u.root, "store"))+"/")
}
