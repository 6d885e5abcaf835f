package cmd

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

type completionOptions struct {
	common commonOptions
	// called is the path by which kubectl or a user called the program.
	called string
	// words lists the possible arguments. do is the action of the given argument.
	words []completionWord
	do    func(io.Writer) error
}

type completionWord struct {
	word, description string
	do                func(io.Writer) error
}

func newCompletionCommand(common commonOptions) *cobra.Command {
	o := &completionOptions{common: common, called: os.Args[0]}
	cmd := &cobra.Command{
		Use:   "completion (install | uninstall | bash | zsh | fish | powershell)",
		Short: "Complete the command line of \"kubectl imoocpod\" in your shell",
		Long: `Complete commands, flags and their values, types, names, namespaces, contexts and
replica paths in your shell.

"install" completes "kubectl imoocpod …". kubectl runs a program on PATH named
` + completionProgram + ` for that. The command creates it as a link next to the
plugin. kubectl's own completion must be set up: see "kubectl completion --help".
"uninstall" removes the link.

With the name of a shell, the command prints the completion script for
kubectl-imoocpod, the program called without kubectl.`,
		Example: `  # Complete "kubectl imoocpod …"
  kubectl imoocpod completion install

  # Remove the completion
  kubectl imoocpod completion uninstall

  # Complete "kubectl-imoocpod …" in this bash
  source <(kubectl imoocpod completion bash)`,
	}
	o.words = []completionWord{
		{"install", "create the link " + completionProgram + " next to the plugin", o.install},
		{"uninstall", "remove the link", o.uninstall},
		{"bash", "print the script for bash", func(w io.Writer) error { return bashCompletion(cmd.Root(), w) }},
		{"zsh", "print the script for zsh", func(w io.Writer) error { return cmd.Root().GenZshCompletion(w) }},
		{"fish", "print the script for fish", func(w io.Writer) error { return cmd.Root().GenFishCompletion(w, true) }},
		{"powershell", "print the script for powershell", func(w io.Writer) error { return cmd.Root().GenPowerShellCompletionWithDesc(w) }},
	}
	for _, w := range o.words {
		cmd.ValidArgs = append(cmd.ValidArgs, cobra.CompletionWithDesc(w.word, w.description))
	}
	return command(cmd, o.complete, func(context.Context) error { return o.do(common.streams.Out) })
}

//go:embed completion.bash
var withoutPackage string

// bashCompletion writes cobra's script without calls to the package bash-completion, which is not always installed.
func bashCompletion(root *cobra.Command, w io.Writer) error {
	var script strings.Builder
	if err := root.GenBashCompletionV2(&script, true); err != nil {
		return err
	}
	words := strings.NewReplacer(" _get_comp_words_by_ref ", " __kubectl-imoocpod_words ", "_filedir", "__kubectl-imoocpod_files")
	_, err := io.WriteString(w, words.Replace(script.String())+withoutPackage)
	return err
}

func (o *completionOptions) complete(args []string) error {
	if len(args) != 1 {
		return usageErrorf("expected one of install, uninstall, bash, zsh, fish and powershell, got %d arguments", len(args))
	}
	i := slices.IndexFunc(o.words, func(w completionWord) bool { return w.word == args[0] })
	if i < 0 {
		return usageErrorf("unknown shell %q: must be bash, zsh, fish or powershell", args[0])
	}
	o.do = o.words[i].do
	return nil
}

// install creates the link that kubectl looks for. The link is next to the program, so that both are on PATH.
// If krew installed the program, the new link points to krew's link, which stays valid after an upgrade.
func (o *completionOptions) install(out io.Writer) error {
	plugin, link, leadsTo, err := o.places()
	if err != nil {
		return err
	}
	base, deed := filepath.Base(plugin), "created"
	switch {
	case leadsTo == base:
		deed = "unchanged"
	case leadsTo != "":
		deed = "configured"
		if err := os.Remove(link); err != nil {
			return fmt.Errorf("replace the old link: %w", err)
		}
	}
	if leadsTo != base {
		if err := os.Symlink(base, link); err != nil {
			return fmt.Errorf("%w; create a link to %s in a directory on PATH", err, plugin)
		}
	}
	err = escape.PrintLine(out, "%s %s", link, deed)
	dir := filepath.Dir(link)
	if !slices.ContainsFunc(filepath.SplitList(os.Getenv("PATH")), func(on string) bool { return filepath.Clean(on) == dir }) {
		o.common.printErrf("Warning: %s is not on PATH, so kubectl cannot find it", dir)
	}
	return err
}

func (o *completionOptions) uninstall(out io.Writer) error {
	_, link, leadsTo, err := o.places()
	if err != nil {
		return err
	}
	if leadsTo == "" {
		return escape.PrintLine(out, "%s does not exist", link)
	}
	if err := os.Remove(link); err != nil {
		return err
	}
	return escape.PrintLine(out, "%s deleted", link)
}

// places returns the path by which the program was called, the path of the link next to it, and what the link leads to.
func (o *completionOptions) places() (plugin, link, leadsTo string, err error) {
	plugin, err = exec.LookPath(o.called)
	if err == nil {
		plugin, err = filepath.Abs(plugin)
	}
	if err != nil {
		return "", "", "", fmt.Errorf("find this program: %w", err)
	}
	link = filepath.Join(filepath.Dir(plugin), completionProgram)
	if runtime.GOOS == "windows" {
		link += ".exe"
	}
	leadsTo, err = readLink(link)
	return plugin, link, leadsTo, err
}

// readLink returns the target of a link to this program, or "" if the file does not exist. Anything else is an error.
func readLink(link string) (string, error) {
	info, err := os.Lstat(link)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		to, err := os.Readlink(link)
		if err != nil || strings.HasPrefix(filepath.Base(to), "kubectl-imoocpod") {
			return to, err
		}
	}
	return "", fmt.Errorf("%w: %s exists and is not a link to this program", outcome.ErrPrecondition, link)
}
