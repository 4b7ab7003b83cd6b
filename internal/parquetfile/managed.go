package parquetfile

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"pipe/internal/dataerror"
	"pipe/internal/storage"
)

// Managed is the error of a folder that a table format manages. Which of its files belong to the table is recorded in a log beside
// them, which is not read: files of removed and replaced rows are there too.
type Managed struct {
	format string
	advice string
}

// Error returns the message.
func (m *Managed) Error() string {
	return "is a table of " + m.format + ", which is not read: the folder may have files of rows that were removed or replaced"
}

// Hint returns advice for the user.
func (m *Managed) Hint() string {
	return "write the rows of its newest version to a Parquet file, for example in " + m.advice
}

func spark(format string) string {
	return fmt.Sprintf(`Spark: spark.read.format(%q).load("TABLE").write.parquet("NEW")`, format)
}

// logs are where formats keep the log of a table: in files of a folder beside those of the rows.
var logs = []struct {
	folder, ending string
	by             Managed
}{
	{"_delta_log", "", Managed{"Delta Lake", `Python: from deltalake import DeltaTable; import pyarrow.parquet as pq; pq.write_table(DeltaTable("TABLE").to_pyarrow_table(), "new.parquet")`}},
	{"metadata", ".metadata.json", Managed{"Apache Iceberg", spark("iceberg")}},
	{".hoodie", "", Managed{"Apache Hudi", spark("hudi")}},
}

// InLog returns the error of the folder in which a file is part of such a log, nil for other files. The path has slashes.
func InLog(file string) *Managed {
	folder, name := path.Split(file)
	for _, log := range logs {
		if path.Base(folder) == log.folder && strings.HasSuffix(name, log.ending) {
			return &log.by
		}
	}
	return nil
}

// IsLog reports whether a folder of this name may have such a log.
func IsLog(name string) bool {
	for _, log := range logs {
		if name == log.folder {
			return true
		}
	}
	return false
}

// checkManaged refuses a folder that a table format manages, and a folder of partitions or data in one, also one that a link
// leads to.
func checkManaged(ctx context.Context, folder storage.Location) error {
	if err := checkManagedPath(ctx, folder); err != nil || folder.IsRemote() {
		return err
	}
	real, err := filepath.EvalSymlinks(folder.Path())
	if err != nil || real == filepath.Clean(folder.Path()) {
		return nil // whoever opens it reads it or reports the error
	}
	return checkManagedPath(ctx, storage.File(real))
}

func checkManagedPath(ctx context.Context, folder storage.Location) error {
	for at := folder; ; at = at.Dir() {
		for _, log := range logs {
			entries, _ := at.Join(log.folder).ReadDir(ctx) // mostly there is none
			for _, e := range entries {
				if by := InLog(log.folder + "/" + e.Name()); by != nil {
					return &dataerror.Error{File: at.String(), Err: by}
				}
			}
		}
		if name := at.Base(); name != "data" && !strings.Contains(name, "=") {
			return nil
		}
	}
}
