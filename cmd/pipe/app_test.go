package main

import (
	"io"
	"strings"
	"testing"
)

// TestCommandsAreThereOnce also holds every command to having examples.
func TestCommandsAreThereOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range newRoot(newApp(strings.NewReader(""), io.Discard, io.Discard)).Commands() {
		if seen[c.Name()] {
			t.Errorf("%s is there twice", c.Name())
		}
		seen[c.Name()] = true
		if c.Example == "" || c.Long == "" {
			t.Errorf("%s has no examples or no text", c.Name())
		}
	}
}
