package source

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"
	"pipe/internal/storage"
)

func link(t *testing.T, target, file string) {
	t.Helper()
	if err := os.Symlink(target, file); err != nil {
		t.Fatal(err)
	}
}

// TestLinksAreFollowed but never in circles: every image is there once.
func TestLinksAreFollowed(t *testing.T) {
	w, other := newImageFiles(t, 3, 16), newImageFiles(t, 3, 16)
	images := w.folder()
	link(t, filepath.Join(other.folder(), "n1"), filepath.Join(images, "n7"))
	link(t, filepath.Join(other.folder(), "n1"), filepath.Join(images, "n8")) // once more
	link(t, ".", filepath.Join(images, "self"))
	link(t, "../n1", filepath.Join(images, "n2", "inner"))
	link(t, "..", filepath.Join(other.folder(), "n1", "up")) // leads out to where n1 lies
	link(t, filepath.Join(images, "n1", "000.jpg"), filepath.Join(images, "n3", "link.jpg"))
	link(t, "nowhere", filepath.Join(images, "readme.txt"))
	link(t, "nowhere", filepath.Join(images, ".hidden.jpg"))
	w.addImage(t, ".cache/x.jpg", nil)
	w.addImage(t, "n1/notes.txt", nil)
	link(t, images, filepath.Join(w.dir, "linked"))
	for _, folder := range []string{images, filepath.Join(w.dir, "linked")} {
		ids, bad, err := listImages(t.Context(), storage.File(folder))
		want := []string{"n1/000.jpg", "n2/001.jpg", "n3/002.jpg", "n3/link.jpg", "n7/000.jpg", "n7/up/n2/001.jpg", "n7/up/n3/002.jpg"}
		if err != nil || !slices.Equal(ids, want) {
			t.Errorf("%q, %v", ids, err)
		}
		parttest.CheckBad(t, bad, map[string]string{"n7/up/n1/": `is a duplicate of the folder "n7/"`, "n8/": `is a duplicate of the folder "n7/"`})
	}
}

// TestFoldersThatVanish are bad, not the end of the walk.
func TestFoldersThatVanish(t *testing.T) {
	w := newImageFiles(t, 3, 16)
	images := w.folder()
	files, err := os.ReadDir(images)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(images, "n2")); err != nil {
		t.Fatal(err)
	}
	walk := &imageWalk{root: images, seen: make(map[string]string)}
	for _, f := range files { // as read before
		if err := walk.entry(t.Context(), f.Name(), filepath.Join(images, f.Name()), f); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(walk.ids, []string{"n1/000.jpg", "n3/002.jpg"}) {
		t.Errorf("%q", walk.ids)
	}
	parttest.CheckBad(t, walk.bad, map[string]string{"n2/": "the folder cannot be read: no such file or directory"})
}

// TestFoldersWithoutPermission needs a user who is bound by permissions. Root is not, so it runs the test again as another
// user.
func TestFoldersWithoutPermission(t *testing.T) {
	if os.Geteuid() == 0 {
		runAsNobody(t)
		return
	}
	w := newImageFiles(t, 6, 16)
	folder, file := filepath.Join(w.folder(), "n2"), filepath.Join(w.folder(), "n1", "000.jpg")
	for path, mode := range map[string]os.FileMode{folder: 0, file: 0} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.Chmod(folder, 0o777) })
	_, err := w.open(t)
	var bad *part.BadImagesError
	if !errors.As(err, &bad) {
		t.Fatalf("got %v", err)
	}
	parttest.CheckBad(t, bad.Images, map[string]string{"n2/": "permission denied", "n1/000.jpg": "permission denied"})
}

// runAsNobody runs the test that calls it in a process of the user nobody, which fails if that test does not run and pass.
func runAsNobody(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "linux" {
		self = "/proc/self/exe" // nobody cannot enter the folder in which go test builds
	}
	cmd := exec.Command(self, "-test.v", "-test.run=^"+t.Name()+"$")
	cmd.Dir, cmd.Env = "/", append(os.Environ(), "TMPDIR=/tmp")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
}

func TestWalkStops(t *testing.T) {
	w := newImageFiles(t, 3, 16)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := listImages(ctx, storage.File(w.folder())); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestNamesThatAreNoText keeps what cannot be written into a tensor out of it.
func TestNamesThatAreNoText(t *testing.T) {
	w := newImageFiles(t, 3, 16)
	w.addImage(t, "n\xfe/x.jpg", nil)
	w.addImage(t, "n1/\xff.jpg", nil)
	_, err := w.open(t)
	if err == nil || !strings.Contains(err.Error(), `n\xfe/: its name is not UTF-8 text`) || !strings.Contains(err.Error(), `n1/\xff.jpg: its name`) {
		t.Errorf("got %v", err)
	}
}
