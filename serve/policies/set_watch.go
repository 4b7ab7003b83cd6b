package policies

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Watch reloads policies whose files change, until ctx ends. It reads a file once it has not changed for Settings.Settle.
// Links are followed, even if a folder on the way is replaced, as Kubernetes does with mounted configurations. Policies
// whose files are missing are served until [Set.Reload]. Watch returns nil when ctx ends, and an error if files cannot be
// watched.
func (s *Set) Watch(ctx context.Context) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch policies: %w", err)
	}
	defer w.Close()
	var poll <-chan time.Time
	if s.settings.Poll > 0 {
		ticker := time.NewTicker(s.settings.Poll)
		defer ticker.Stop()
		poll = ticker.C
	}
	s.watchFolders(w)
	settled := time.NewTimer(0) // something may have changed since Open
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, ok := <-w.Events:
			if !ok {
				return nil
			}
			if e.Op == fsnotify.Chmod {
				continue
			}
			settled.Reset(s.settings.Settle)
			continue
		case err := <-w.Errors:
			// Events were lost, so everything is checked.
			s.log.WarnContext(ctx, "watch policies", "error", err)
		case <-poll:
		case <-settled.C:
		}
		s.watchFolders(w)
		_, again := s.reload(ctx, true)
		if unsettled := s.readOthers(ctx); again || unsettled {
			settled.Reset(max(s.settings.Settle, 10*time.Millisecond))
		}
	}
}

// watchFolders watches the folders of all paths, and the folders of the targets of links.
func (s *Set) watchFolders(w *fsnotify.Watcher) {
	var folders []string
	add := func(folder string) {
		if !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	if file := s.settings.Prices; file != "" {
		add(filepath.Dir(file))
		addTarget(add, file)
	}
	for file := range s.otherFiles() {
		add(filepath.Dir(file))
		addTarget(add, file)
	}
	for _, path := range s.settings.Paths {
		add(filepath.Dir(path)) // the path itself may be replaced
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			add(path)
			entries, err := os.ReadDir(path)
			if err != nil {
				continue
			}
			for _, e := range entries {
				if e.Type()&os.ModeSymlink != 0 && strings.HasSuffix(e.Name(), policyEnding) {
					addTarget(add, filepath.Join(path, e.Name()))
				}
			}
		}
		addTarget(add, path)
	}
	for _, folder := range w.WatchList() {
		if !slices.Contains(folders, folder) {
			_ = w.Remove(folder) // it may be missing
		}
	}
	for _, folder := range folders {
		_ = w.Add(folder) // a missing folder is tried again in the next pass
	}
}

// addTarget adds the folder of the target of a link.
func addTarget(add func(folder string), path string) {
	if target, err := filepath.EvalSymlinks(path); err == nil && target != filepath.Clean(path) {
		add(filepath.Dir(target))
	}
}
