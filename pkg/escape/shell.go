package escape

import "strings"

// shellPlain are the characters that mean nothing to a shell.
const shellPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789@%+=:,./_-"

// ShellWord returns s as a POSIX shell takes it for one word: quoted where it has to be.
func ShellWord(s string) string {
	if s != "" && strings.Trim(s, shellPlain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
