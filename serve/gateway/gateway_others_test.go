package gateway

import (
	"fmt"
	"strings"
	"testing"
)

// A service that makes names of models up fills neither the memory nor the log; each of the first is logged once.
func TestInventedModels(t *testing.T) {
	var o loggedModels
	if !o.first("a", "m") || o.first("a", "m") || !o.first("b", "m") {
		t.Error("a model is logged once for each expert")
	}
	for i := range 2 * maxLoggedModels {
		o.first("a", strings.Repeat("x", 100)+fmt.Sprint(i)+strings.Repeat("x", 1<<10))
	}
	if len(o.logged) != maxLoggedModels || o.first("c", "m") {
		t.Errorf("%d are kept", len(o.logged))
	}
}
