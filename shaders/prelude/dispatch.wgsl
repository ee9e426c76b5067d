// Every kernel's Parameters begin with
//   first_item, item_count  the items of this dispatch, one an invocation
//   item_base               item whose entry is the first of the bound item arrays
//   element_base            element that is the first of the bound element arrays
//   segment_base            segment that is the first of the bound segment arrays
// so that a kernel does not know whether it has whole arrays or a slice of them.

override workgroup_size: u32 = 64u;
