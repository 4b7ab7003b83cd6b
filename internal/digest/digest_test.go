package digest

import "testing"

// The form of digests is part of existing files: it must never change.
func TestForm(t *testing.T) {
	const empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	h := New()
	if Of(nil) != empty || Sum(h) != empty {
		t.Errorf("nothing has the digests %s, %s", Of(nil), Sum(h))
	}
	h.Write([]byte("[1,"))
	h.Write([]byte("2]"))
	list, err := JSON([]int{1, 2})
	if err != nil || list != Sum(h) || list != Of([]byte("[1,2]")) {
		t.Errorf("a list has the digests %s, %s, %v", list, Sum(h), err)
	}
	if _, err := JSON(func() {}); err == nil {
		t.Error("a function has a digest")
	}
	if Short(empty) != "e3b0c44298fc1c14" || Short("sha256:12") != "12" {
		t.Errorf("short forms are %s, %s", Short(empty), Short("sha256:12"))
	}
	for s, is := range map[string]bool{empty: true, empty[:70]: false, empty[7:]: false, empty[:70] + "g": false, "": false} {
		if Is(s) != is {
			t.Errorf("%q: %t", s, !is)
		}
	}
}
