package builder

import (
	"context"
	"fmt"
	"path/filepath"

	"pipe/experts/chat"
	"pipe/internal/atomicfile"
	"pipe/internal/filelock"
)

// OutputFiles are the files with fixed names that a build with this output and this folder of answers (Options) may
// create or replace. An invalid output has none.
func OutputFiles(out, answers string) []string {
	file, err := OutputFile(out)
	if err != nil {
		return nil
	}
	o := Options{Answers: answers}
	w := work{out: file}
	return []string{file, w.auditFile(), filepath.Join(o.answers(file), chat.AnswersFile)}
}

// lockExperts makes the folder of trained experts and takes its lock. Builds that share the folder work there one after
// the other: the second finds what the first has made, and none disturbs the measurements of another.
func (o *Options) lockExperts(ctx context.Context, folder string) (*filelock.Lock, error) {
	if _, err := atomicfile.MkdirAll(folder); err != nil {
		return nil, err
	}
	l, err := filelock.Wait(ctx, filepath.Join(folder, lockName), o.waits)
	if err != nil {
		return nil, fmt.Errorf("folder of experts: %w", err)
	}
	return l, nil
}
