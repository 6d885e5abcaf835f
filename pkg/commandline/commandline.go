// Package commandline composes commands for users to paste. A pasted command acts on the same cluster and as
// the same user as the command that printed it. The package has no side effects.
package commandline

import (
	"slices"
	"strings"
)

// Command contains the words of a command for users to paste, without the flags that select the cluster.
type Command []string

// Plugin returns a command of this plugin. The words follow "kubectl imoocpod".
func Plugin(words ...string) Command { return slices.Concat(Command{"kubectl", "imoocpod"}, words) }

// Kubectl returns a command of kubectl itself.
func Kubectl(words ...string) Command { return slices.Concat(Command{"kubectl"}, words) }

// With returns the command with additional words at its end.
func (c Command) With(words ...string) Command { return slices.Concat(c, words) }

// WithSome returns the command with the first ten names, or with all if there are fewer. A longer command would be
// truncated, and would lose the namespace and the cluster at its end.
func (c Command) WithSome(names []string) Command { return c.With(names[:min(len(names), 10)]...) }

// In returns the command with a flag for the namespace. If the namespace is empty, no flag is added.
func (c Command) In(namespace string) Command {
	if namespace == "" {
		return c
	}
	return c.With("-n", namespace)
}

// Context contains the flags that select the cluster and the user of a pasted command, such as "--context=staging".
// The zero value adds no flags.
type Context []string

// Line formats the command as one line, quoted for a shell. The flags in c come before any "--".
func (c Context) Line(cmd Command) string {
	at := slices.Index(cmd, "--")
	if at < 0 {
		at = len(cmd)
	}
	words := slices.Concat(cmd[:at], Command(c), cmd[at:])
	for i, word := range words {
		words[i] = quoted(word)
	}
	return strings.Join(words, " ")
}

// plain lists characters that need no quotes in a POSIX shell.
const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789@%+=:,./_-"

// quoted quotes a word for a POSIX shell if necessary.
func quoted(word string) string {
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
