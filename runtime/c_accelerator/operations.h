/* The operations of programs: X(name). assembler.py writes them by these names.

   A test jumps to its target where it fails; where its ``second`` is 1, where it holds. Leaving means that the Python
   function is called. ``number`` is the number of a local, or a count. */
#define OPERATIONS(X) \
    X(not_intercepted) /* test: nothing intercepts calls of operators */ \
    X(is_plain)        /* test: a local is a Tensor whose class overrides nothing */ \
    X(is_tensor)       /* test: a local is a Tensor of any class */ \
    X(has_array)       /* test: the array of the Tensor in a local is one of NumPy's */ \
    X(is_array)        /* test: a local is an array of NumPy's */ \
    X(is_small)        /* test: an array, or that of a Tensor, has less than LARGE elements */ \
    X(is_contiguous)   /* test: an array, or that of a Tensor, is in C's order */ \
    X(has_dims)        /* test: an array, or that of a Tensor, has so many dimensions */ \
    X(are_rows)        /* test: an int in one local is the last dim of an array of floats in another, which is in C's order */ \
    X(have_rows_of)    /* test: the same, of an array of such, and a tuple of the size of its last dim */ \
    X(is_type)         /* test: a local is a Type */ \
    X(is_settled)      /* test: the Type in a local gives results of itself whatever the thread's mode */ \
    X(needs_no_grad)   /* test: the Tensor in a local does not require gradients */ \
    X(has_type)        /* test: the Type of the Tensor in a local is the one that runs */ \
    X(has_backend)     /* test: its backend is */ \
    X(is_weak)         /* test: a local is a number that the Type that runs does not promote */ \
    X(weak_has)        /* test: a class is one of numbers that the Type that runs does not promote */ \
    X(is_class)        /* test: a local is of exactly a class */ \
    X(is_none)         /* test: a local is None */ \
    X(is_missing)      /* test: a local was not given */ \
    X(is_same)         /* test: a local is an object */ \
    X(is_equal)        /* test: a local is equal to an object */ \
    X(is_given)        /* test: so many arguments were given by position */ \
    X(is_more_given)   /* test: more than that were given */ \
    X(are_ints)        /* test: a local is a list or tuple of ints */ \
    X(are_many_ints)   /* test: the same, but not of one */ \
    X(have_one_type)   /* test: a local is a list or tuple of Tensors of one Type, whose classes override nothing */ \
    X(have_type)       /* test: that is the Type that runs */ \
    X(are_tensors)     /* test: a local is a list or tuple of Tensors that have arrays of NumPy's, not an empty one */ \
    X(goes)            /* test: the edge of this number of the Node in local 0 leads somewhere */ \
    X(is_recorded)     /* test: what is made of the Tensor in a local is recorded */ \
    X(is_index)        /* test: the local behind that of a Tensor has an int that is an index of its first dim */ \
    X(is_apart)        /* test: a local is Tensor 1, or shares no Storage with it */ \
    X(may_write)       /* test: a value may be written into the Tensor in a local */ \
    X(runs)            /* the Type that runs is that of the Tensor in a local */ \
    X(runs_all)        /* the Type that runs is that of all the Tensors in a local; leave if there is no such */ \
    X(runs_itself)     /* the Type that runs is a local */ \
    X(local)           /* push a local */ \
    X(rest)            /* push a tuple of the loose arguments from this one on */ \
    X(type)            /* push the Type that runs */ \
    X(array)           /* push the array of the Tensor in a local */ \
    X(arrays)          /* push a list of the arrays of the Tensors in a local */ \
    X(constant)        /* push an object */ \
    X(slot)            /* push what a slot of local 0 has */ \
    X(saved)           /* push the array of a Tensor that local 0 has saved, unless it was written to */ \
    X(saved_or_none)   /* the same, of what may be None */ \
    X(saved_result)    /* push the array that local 0 has saved of its result, unless it was written to */ \
    X(number)          /* the array that the Type keeps for the number on top; number 1: the Type of the Node */ \
    X(fetch)           /* push what a dictionary has for a key; leave where it has nothing */ \
    X(fetch_kernel)    /* the same; jump where it is None */ \
    X(call)            /* call what lies below so many arguments */ \
    X(call_out)        /* the same, with out=... */ \
    X(binary)          /* a binary operator of Python's */ \
    X(unary)           /* a unary operator of Python's */ \
    X(compare)         /* a comparison of Python's */ \
    X(attribute)       /* an attribute of what is on top */ \
    X(item)            /* an item of what lies below the top */ \
    X(tuple)           /* a tuple of so many */ \
    X(as_tuple)        /* tuple() of what is on top */ \
    X(as_float)        /* float() of what is on top */ \
    X(as_array)        /* an array of what is on top, if it is none, or None */ \
    X(unpack)          /* the so many items of a tuple, the first on top */ \
    X(jump)            /* jump */ \
    X(jump_if_not)     /* pop; jump where it is false */ \
    X(jump_or_pop)     /* jump where the top is true, else pop it */ \
    X(jump_or_pop_not) /* jump where the top is false, else pop it */ \
    X(none_on_top)     /* whether what is on top is None, in its place */ \
    X(pop)             /* forget what is on top */ \
    X(store)           /* pop into a local that is no parameter */ \
    X(wrap)            /* a Tensor of the array on top, of the Type in local 0 */ \
    X(wrap_as)         /* the same, of an attribute of that Type */ \
    X(wrap_by_dtype)   /* the same, of the Type of the array's dtype */ \
    X(wrap_view)       /* a view of the Tensor in a local */ \
    X(wrap_part)       /* the same, of its own Type */ \
    X(wrap_views)      /* a tuple of views of the Tensor in a local, of the arrays in the tuple on top */ \
    X(view)            /* push a view of the Tensor in local 0: the array in 1, of the Type in 2, one of several if 3 is \
                          true; leave if it is unusual */ \
    X(record)          /* give the Tensor on top its history */ \
    X(invoke)          /* the result of calling what lies below so many arguments is the program's */ \
    X(invoke_method)   /* the same of a method by its name */ \
    X(rows)            /* what the native kernel below so many arrays makes of their rows; leave if they are unusual */ \
    X(rows_keeping)    /* the same; numbers of rows have a last dim of size 1 */ \
    X(number_like)     /* a float on top as an array of the dtype of the array in a local, without dims */ \
    X(reshape)         /* the array below the sizes on top in that shape; leave if it is unusual */ \
    X(join)            /* the arrays of a list below the dim on top, one behind the other; leave if they are unusual */ \
    X(stack)           /* the same, along a new dim */ \
    X(with_dim)        /* the array below a dim on top with one of size 1 before that; leave if it is unusual */ \
    X(without_dim)     /* the same without a dim of size 1 */ \
    X(with_dims_exchanged) /* the same with two dims exchanged */ \
    X(with_dims_ordered) /* the same with the dims in the order on top */ \
    X(expand)          /* the same broadcast to sizes */ \
    X(at_index)        /* the same: what stands along a dim at an index */ \
    X(in_range)        /* the same: along a dim, from, to, by */ \
    X(at_key)          /* the same: what stands at a key, or a tuple of such */ \
    X(bounds)          /* push start, stop and step of the slice in a local, one of which says something, or leave */ \
    X(each_along)      /* the same: a tuple of what stands along a dim */ \
    X(parts_along)     /* the same: a tuple of parts of a size along a dim */ \
    X(total)           /* the sum of all elements of the array on top; leave if it is unusual */ \
    X(method)          /* call the method of the Type that runs with so many arguments */ \
    X(begin_write)     /* count a write into the Tensor in a local */ \
    X(write)           /* write the array on top, if it fits, into the Tensor in a local; count that */ \
    X(end_write)       /* push that Tensor: the write is done */ \
    X(free)            /* put an object into a slot of local 0, unless that is None */ \
    X(leave)           /* leave */ \
    X(give)            /* the result is on top */
