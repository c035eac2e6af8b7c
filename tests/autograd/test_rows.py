"""Every capability that the autograd system promises, and the tests that hold it to that.

The rows are those of the system's specification: PyTorch's ``csrc/autograd``, file by file, and the
behaviour to pin. Beside each stand the tests, as ``file::test``; that they are there is a test.
"""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]

ROWS = {
    # graph and engine
    "edge": """
        autograd/test_graph.py::test_what_a_node_shows
        autograd/test_graph_tools.py::test_gradients_at_edges
        autograd/test_graph_tools.py::test_an_edge_keeps_the_graph""",
    "function (Node)": """
        autograd/test_graph.py::test_what_a_node_shows
        autograd/test_saved_attributes.py::test_every_node_shows_what_it_saved
        autograd/test_saved_attributes.py::test_input_metadata
        autograd/test_node_hooks.py::test_hooks_of_nodes_replace_gradients
        autograd/test_graph_tools.py::test_a_node_is_a_function_of_gradients""",
    "engine": """
        autograd/test_graph.py::test_a_chain_of_200000
        autograd/test_graph.py::test_the_newest_node_runs_first_and_a_leaf_as_soon_as_it_can
        autograd/test_graph.py::test_a_gradient_that_does_not_fit_is_an_error
        autograd/test_backward.py::test_gradients_are_reduced_to_the_inputs_shape
        autograd/test_backward.py::test_gradients_are_cast_to_the_inputs_dtype
        autograd/test_backward.py::test_backward_inside_backward
        autograd/test_robustness.py::test_a_hundred_graphs_from_eight_threads
        autograd/test_robustness.py::test_deep_forward_backward_twice_and_free""",
    "graph_task, exec_info": """
        autograd/test_backward.py::test_only_what_leads_to_the_inputs_runs
        autograd/test_backward.py::test_retain_graph
        autograd/test_backward.py::test_create_graph_retains_unless_told_otherwise
        autograd/test_backward.py::test_unused_inputs
        autograd/test_backward.py::test_inputs_as_a_dict
        autograd/test_graph_tools.py::test_gradients_at_edges
        autograd/test_gradcheck.py::test_right_batched""",
    "input_buffer": """
        autograd/test_accumulate.py::test_sums_go_into_buffers_of_our_own_only""",
    "input_metadata": """
        autograd/test_saved_attributes.py::test_input_metadata
        autograd/test_graph.py::test_a_gradient_that_does_not_fit_is_an_error""",
    "python_engine": """
        autograd/test_node_hooks.py::test_callbacks_at_the_end_of_a_pass""",
    "functions/accumulate_grad": """
        autograd/test_accumulate.py::test_the_first_array_is_taken_when_nobody_holds_it
        autograd/test_accumulate.py::test_the_first_array_is_copied_when_somebody_holds_it
        autograd/test_accumulate.py::test_the_gradient_has_the_leafs_layout
        autograd/test_accumulate.py::test_later_passes_add_in_place
        autograd/test_accumulate.py::test_create_graph_adds_out_of_place""",
    "functions/basic_ops": """
        autograd/test_graph.py::test_missing_derivatives_are_errors_of_the_backward_pass
        autograd/test_graph.py::test_an_undefined_gradient_runs_down_to_hooks_but_not_into_grad
        autograd/test_not_implemented.py::test_an_in_place_operator_without_gradient_passes_none_on""",
    "functions/tensor": """
        autograd/test_inplace.py::test_copy
        autograd/test_views.py::test_a_write_through_a_view_rewrites_the_bases_history
        autograd/test_views.py::test_the_view_is_made_again_from_the_base""",
    "functions/comm": """
        nn/test_comm.py::test_scatter_and_gather_are_inverse
        nn/test_comm.py::test_broadcast_and_reduce""",
    "grad_mode": """
        autograd/test_grad_mode.py::test_context_managers_nest
        autograd/test_grad_mode.py::test_decorators_of_functions
        autograd/test_grad_mode.py::test_decorators_of_generators
        autograd/test_grad_mode.py::test_the_mode_belongs_to_the_thread""",
    "InferenceMode": """
        autograd/test_inference_mode.py::test_results_are_as_the_mode_is_whatever_the_operands_are
        autograd/test_inference_mode.py::test_views_are_as_their_base_is
        autograd/test_inference_mode.py::test_no_write_outside
        autograd/test_inference_mode.py::test_none_is_saved_for_backward
        autograd/test_inference_mode.py::test_requires_grad
        autograd/test_inference_mode.py::test_a_tensor_made_in_it_has_no_version""",
    "anomaly_mode": """
        autograd/test_anomaly.py::test_nan_is_found_where_it_arises
        autograd/test_anomaly.py::test_an_error_in_backward""",
    "forward_grad": """
        autograd/test_forward_ad.py::test_dual_and_unpacked
        autograd/test_forward_ad.py::test_programs
        func/test_jvp.py::test_jvp""",
    "jit_decomp_interface": """
        autograd/test_forward_ad.py::test_operator_without_forward_formula""",
    "autograd_not_implemented_fallback": """
        autograd/test_not_implemented.py::test_the_backward_pass_fails_and_names_the_operator
        autograd/test_not_implemented.py::test_which_operators_it_is_for
        operators/test_torch_history.py::test_same_history""",
    "FunctionsManual": """
        operators/test_derivatives.py::test_gradient
        autograd/test_not_implemented.py::test_a_formula_that_is_not_implemented""",
    # tensors
    "variable, autograd_meta": """
        autograd/test_properties.py::test_requires_grad
        autograd/test_properties.py::test_grad_can_be_set
        autograd/test_properties.py::test_detach
        autograd/test_properties.py::test_data
        autograd/test_properties.py::test_name_and_version
        autograd/test_hooks.py::test_retain_grad""",
    "saved_variable": """
        autograd/test_saved.py::test_a_saved_input_that_was_written_to
        autograd/test_graph.py::test_forward_and_backward_make_no_reference_cycle
        autograd/test_robustness.py::test_a_graph_dies_with_its_last_name""",
    "saved_variable_hooks": """
        autograd/test_saved_hooks.py::test_what_is_packed
        autograd/test_saved_hooks.py::test_save_on_cpu
        autograd/test_saved_hooks.py::test_disabled
        autograd/test_saved_attributes.py::test_register_hooks_on_a_saved_input
        autograd/test_graph_tools.py::test_saved_tensors_may_be_written_to""",
    "VariableTypeUtils": """
        autograd/test_inplace.py::test_leaves_are_refused
        autograd/test_inplace.py::test_memory_and_version
        autograd/test_inplace.py::test_the_history_is_rebased
        autograd/test_inplace.py::test_out_refuses_gradients
        autograd/test_views.py::test_views_of_several_outputs_are_refused
        autograd/test_views.py::test_views_made_under_no_grad_are_refused""",
    "VariableTypeManual": """
        autograd/test_inplace.py::test_copy
        autograd/test_properties.py::test_detach
        autograd/test_views.py::test_detaching_views_in_place_is_refused
        autograd/test_forward_ad.py::test_resize_is_refused""",
    "variable_info": """
        autograd/test_function.py::test_materialize_grads
        autograd/test_function_context.py::test_gradients_that_have_not_come""",
    "python_variable_indexing": """
        indexing/test_fuzz.py::test_getitem
        indexing/test_fuzz.py::test_setitem
        indexing/test_indexing.py::test_history""",
    "python_legacy_variable": """
        autograd/test_graph_tools.py::test_variable""",
    # hooks and custom functions
    "custom_function, python_function": """
        autograd/test_function.py::test_forward_and_backward
        autograd/test_function.py::test_setup_context
        autograd/test_function.py::test_vjp_is_another_name
        autograd/test_function_context.py::test_dirty_inputs
        autograd/test_function_context.py::test_once_differentiable
        autograd/test_function_context.py::test_what_backward_returns""",
    "function_hook, python_hook, cpp_hook, lambda_post_hook": """
        autograd/test_hooks.py::test_hooks_run_in_order_and_see_what_the_last_returned
        autograd/test_hooks.py::test_removing_hooks
        autograd/test_node_hooks.py::test_post_accumulate_hooks
        autograd/test_node_hooks.py::test_multi_grad_hooks
        autograd/test_node_hooks.py::test_hooks_of_nodes_replace_gradients""",
    "checkpoint": """
        autograd/test_checkpoint.py::test_gradients
        autograd/test_checkpoint.py::test_arguments_and_results_of_all_kinds
        autograd/test_checkpoint.py::test_keyword_arguments
        autograd/test_checkpoint.py::test_random_numbers_are_the_same
        autograd/test_checkpoint.py::test_sequences
        autograd/test_selective_checkpoint.py::test_gradients_are_the_same""",
    # watching it run
    "profiler_legacy, profiler_kineto, profiler_python, record_function_ops": """
        autograd/test_profiler.py::test_operators_in_order
        autograd/test_profiler_trace.py::test_a_training_step
        autograd/test_profiler_sums.py::test_memory""",
    "symbolic, TraceTypeManual": """
        jit/test_trace.py::test_a_traced_function_gives_what_the_function_gives
        onnx/test_operators.py::test_onnxruntime_gives_the_same
        onnx/test_export.py::test_a_training_step""",
    # behaviour to pin
    "1: what was saved and changed": """
        autograd/test_saved.py::test_a_saved_result_that_was_written_to
        autograd/test_saved.py::test_operators_that_save_nothing_do_not_mind""",
    "2: version counters of detach and data": """
        autograd/test_saved.py::test_writing_through_data_is_not_noticed
        autograd/test_views.py::test_detached_handles_share_the_version_but_are_no_views""",
    "3: a second backward": """
        autograd/test_backward.py::test_a_second_backward_raises_where_something_was_saved
        autograd/test_backward.py::test_a_second_backward_is_fine_where_nothing_was_saved""",
    "4: the order of hooks": """
        autograd/test_node_hooks.py::test_the_order_of_all_hooks
        autograd/test_hooks.py::test_with_grad_only_the_hooks_of_what_was_asked_for_run""",
    "5: what hooks return": """
        autograd/test_hooks.py::test_bad_results_name_the_hook
        autograd/test_hooks.py::test_what_cannot_have_hooks""",
    "6: scalars, unused inputs, inputs that are no leaves": """
        autograd/test_backward.py::test_what_backward_refuses
        autograd/test_backward.py::test_what_grad_refuses
        autograd/test_backward.py::test_inputs_may_be_intermediate""",
    "7: what Functions return": """
        autograd/test_function_context.py::test_what_backward_returns
        autograd/test_function.py::test_a_returned_input_is_a_view
        autograd/test_function.py::test_bad_marks""",
    "8: checkpoints that differ": """
        autograd/test_checkpoint.py::test_runs_that_differ
        autograd/test_checkpoint.py::test_reentrant_refuses_grad
        autograd/test_checkpoint.py::test_reentrant_without_gradients""",
    "9: the exact sum of threads": """
        autograd/test_accumulate.py::test_threads_give_the_exact_sum
        autograd/test_robustness.py::test_graphs_that_share_leaves_from_eight_threads""",
    "10: subgradients": """
        operators/test_torch_gradients.py::test_same_gradients""",
    "11: complex gradients": """
        autograd/test_backward.py::test_the_gradient_of_a_complex_input_is_the_conjugate_one""",
    "12: no reference cycle": """
        autograd/test_graph.py::test_forward_and_backward_make_no_reference_cycle
        autograd/test_robustness.py::test_a_graph_dies_with_its_last_name""",
}


@functools.cache
def functions(path: Path) -> dict[str, ast.FunctionDef]:
    """The functions of a file of tests, by name."""
    if not path.is_file():
        return {}
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("row", ROWS)
def test_every_row_is_tested(row: str) -> None:
    """The tests are there, and look at something."""
    named = ROWS[row].split()
    assert named
    for test in named:
        file, _, name = test.partition("::")
        found = functions(TESTS / file).get(name)
        assert found is not None, f"{row}: there is no {test}"
        calls = [n for n in ast.walk(found) if isinstance(n, ast.Call | ast.Assert)]
        assert calls, f"{row}: {test} is empty"
