package outcome

import (
	"pipe/internal/tablefile"
	"pipe/internal/textfile"
)

// keys numbers the texts of one column of a table. A text that the table keeps
// in a dictionary, or repeats from row to row, is looked up once.
type keys struct {
	names      *textfile.Names
	at         int // position of the column
	column     *tablefile.Column
	dictionary tablefile.Dictionary
	known      []int32 // number+1 of the texts of the dictionary, after that of a missing one; 0 where it is not known
	row        int     // of the batch, the last one that was looked up
	number     int     // of its text
}

// open is called for every batch of the table.
func (k *keys) open(b *tablefile.Batch) {
	k.column, k.row, k.number = &b.Columns[k.at], -2, -1
	d := k.column.Dictionary()
	if d != k.dictionary {
		k.dictionary, k.known = d, nil
	}
	if d.Len() > 0 && k.known == nil {
		k.known = make([]int32, d.Len()+1)
	}
}

// find returns the number of the text in a row, -1 if it has none yet. A missing
// text is "".
func (k *keys) find(r tablefile.Row) int {
	row := r.Number()
	if k.known != nil {
		known := &k.known[k.column.Code(row)+1]
		if *known == 0 {
			*known = int32(k.names.Find(k.column.Text(row)) + 1)
		}
		return int(*known) - 1
	}
	if k.number < 0 || k.row != row-1 || !k.column.Repeats(row) {
		k.number = k.names.Find(k.column.Text(row))
	}
	k.row = row
	return k.number
}

// add is find for a text that gets a number if it has none. Its error is that of
// textfile.Held.Add.
func (k *keys) add(r tablefile.Row) (int, error) {
	if n := k.find(r); n >= 0 {
		return n, nil
	}
	n, err := k.names.Add(k.column.Text(r.Number()))
	if err != nil {
		return 0, err
	}
	if k.known != nil {
		k.known[k.column.Code(r.Number())+1] = int32(n + 1)
	}
	k.number = n
	return n, nil
}
