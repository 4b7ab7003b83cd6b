package builder

import (
	"path/filepath"

	"pipe/experts/chat"
)

// OutputFile is the output file of a build: a .parquet file as it is named, or the one in a folder.
func OutputFile(out string) (string, error) { return outputFile(out) }

// OutputFiles are the files with fixed names that a build with this output and this folder of answers (Options) may
// create or replace. An invalid output has none.
func OutputFiles(out, answers string) []string {
	file, err := outputFile(out)
	if err != nil {
		return nil
	}
	o := Options{Answers: answers}
	w := work{out: file}
	return []string{file, w.auditFile(), filepath.Join(o.answers(file), chat.AnswersFile)}
}
