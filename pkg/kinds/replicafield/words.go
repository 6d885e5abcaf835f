package replicafield

import (
	"strings"
	"unicode"
)

// Words is a name's words in lower case: numberOfInstances, number_of_instances
// and number-of-instances have three; a run of capitals is one word.
func Words(name string) []string {
	var words []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			words = append(words, strings.ToLower(string(word)))
		}
		word = nil
	}
	runes := []rune(name)
	for i, c := range runes {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			end()
			continue
		}
		afterLower := i > 0 && !unicode.IsUpper(runes[i-1])
		beforeLower := i+1 < len(runes) && unicode.IsLower(runes[i+1])
		if unicode.IsUpper(c) && (afterLower || beforeLower) {
			end()
		}
		word = append(word, c)
	}
	end()
	return words
}

// Unit is what there are so many of, by the name of a count: "shard", "task", or "pod".
func Unit(name string) string {
	for _, word := range Words(name) {
		switch word = strings.TrimSuffix(word, "s"); word {
		case "shard", "task":
			return word
		}
	}
	return "pod"
}
