package parttest

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// ClaimLabels returns the labels of claims: true, false, and not settled by any page.
func ClaimLabels() []string { return []string{"SUPPORTS", "REFUTES", "NOT ENOUGH INFO"} }

// Claim returns the claim that thing i of a kind, such as Thing7, has one of four colours.
func Claim(kind string, i int) string {
	return fmt.Sprintf("%s%d is %s.", kind, i, colour(i))
}

// Sentence returns the sentence that settles a claim: the claim is true if i%3 is 0 and false if i%3 is 1. For other i it
// panics.
func Sentence(kind string, i int) string {
	return fmt.Sprintf("%s%d is %s %s .", kind, i, []string{"truly", "never"}[i%3], colour(i))
}

func colour(i int) string { return []string{"red", "green", "blue", "black"}[i%4] }

// Claims writes n claims about the colours of things as claims.jsonl of a folder, with each of ClaimLabels in turn, and
// pages.jsonl, whose pages settle two out of three claims.
func Claims(t testing.TB, folder string, n int) {
	t.Helper()
	claims, pages := &strings.Builder{}, &strings.Builder{}
	for i := range n {
		jsonLine(t, claims, map[string]any{"id": i, "label": ClaimLabels()[i%3], "claim": Claim("Thing", i), "evidence": []any{}})
		if i%3 < 2 {
			jsonLine(t, pages, map[string]any{"id": fmt.Sprintf("Page_%d", i), "text": Sentence("Thing", i), "lines": ""})
		}
	}
	Write(t, filepath.Join(folder, "claims.jsonl"), claims.String())
	Write(t, filepath.Join(folder, "pages.jsonl"), pages.String())
}

// TrainingClaims writes train.csv of a folder: n claims about items, each with its label and the sentence that settles it.
func TrainingClaims(t testing.TB, folder string, n int) {
	t.Helper()
	train := &strings.Builder{}
	fmt.Fprintln(train, ",claim,label,sentence")
	for i := range n {
		item := 3*i + i%2
		fmt.Fprintf(train, "%d,%s,%s,%s\n", i, Claim("Item", item), ClaimLabels()[i%2], Sentence("Item", item))
	}
	Write(t, filepath.Join(folder, "train.csv"), train.String())
}

func jsonLine(t testing.TB, b *strings.Builder, v any) {
	t.Helper()
	line, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	b.Write(append(line, '\n'))
}
