package escape

import "strings"

// shellPlain are the characters without a meaning to a shell.
const shellPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789@%+=:,./_-"

// ShellWord returns s as one word for a POSIX shell, quoted if it has to be.
func ShellWord(s string) string {
	if s != "" && strings.Trim(s, shellPlain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
