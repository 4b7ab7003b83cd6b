// Package tablefile reads tables that other programs wrote, in batches of columns and with bounded memory: CSV, TSV, JSON
// and JSON lines, each also gzipped, Parquet, and folders of such files. A Layout says where the rows are, and patterns
// which columns and files are meant. A Table gives cells, a TextReader gives strings.
package tablefile
